nest_sub:
  module_and_function: test.ping
  assertion: assertFalse
