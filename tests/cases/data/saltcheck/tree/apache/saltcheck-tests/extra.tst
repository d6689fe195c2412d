extra_ok:
  module_and_function: test.ping
  assertion: assertTrue
