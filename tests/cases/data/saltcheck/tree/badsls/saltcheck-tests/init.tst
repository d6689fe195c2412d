ok_bad:
  module_and_function: test.ping
  assertion: assertTrue
