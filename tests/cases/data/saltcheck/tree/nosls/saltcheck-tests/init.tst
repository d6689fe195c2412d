ok_nosls:
  module_and_function: test.ping
  assertion: assertTrue
