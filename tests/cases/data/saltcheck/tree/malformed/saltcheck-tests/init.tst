no_function:
  assertion: assertTrue
no_assertion:
  module_and_function: test.ping
empty_assertion:
  module_and_function: test.ping
  assertion: ''
unknown_assertion:
  module_and_function: test.ping
  assertion: assertMaybe
no_expected:
  module_and_function: test.ping
  assertion: assertEqual
no_such_function:
  module_and_function: nosuch.fun
  assertion: assertTrue
bad_args:
  module_and_function: test.ping
  args: [1, 2]
  assertion: assertTrue
raises:
  module_and_function: test.exception
  args: [boom]
  assertion: assertTrue
empty_assertions:
  module_and_function: test.ping
  assertions: []
a_list:
  - module_and_function: test.ping
  - assertion: assertTrue
