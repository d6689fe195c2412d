deep_other:
  module_and_function: test.ping
  assertion: assertFalse
