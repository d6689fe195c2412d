deep_a:
  module_and_function: test.ping
  assertion: assertTrue
