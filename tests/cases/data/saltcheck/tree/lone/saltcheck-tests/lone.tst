lone_lone:
  module_and_function: test.ping
  assertion: assertTrue
