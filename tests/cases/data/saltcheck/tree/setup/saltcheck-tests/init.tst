prepare:
  module_and_function: saltcheck.state_apply
  args: [bare]
prepare_out:
  module_and_function: saltcheck.state_apply
  args: [nosuchsls]
after:
  module_and_function: test.ping
  assertion: assertTrue
