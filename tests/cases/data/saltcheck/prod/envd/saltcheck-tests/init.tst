in_prod:
  module_and_function: test.echo
  args: ['{{ saltenv }}']
  assertion: assertEqual
  expected_return: prod
