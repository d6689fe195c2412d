{{ nothing.at.all }}: {}
