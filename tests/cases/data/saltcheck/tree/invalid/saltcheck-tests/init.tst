no_assertion:
  module_and_function: test.ping
unknown_assertion:
  module_and_function: test.ping
  assertion: assertMaybe
no_such_function:
  module_and_function: nosuch.fun
  assertion: assertTrue
many:
  module_and_function: test.ping
  assertions:
    - assertion: assertTrue
    - assertion: assertFalse
