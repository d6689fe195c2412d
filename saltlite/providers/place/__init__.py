"""Where the machine is: its time zone and its locales."""
