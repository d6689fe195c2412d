nest_init:
  module_and_function: test.ping
  assertion: assertTrue
