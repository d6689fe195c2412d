up_{{ grains['id'] }}:
  module_and_function: test.echo
  args:
    - "{{ pillar.get('none', 'fallback') }}"
  assertion: assertEqual
  expected_return: fallback
skipped:
  module_and_function: test.ping
  skip: True
  assertion: assertTrue
fails:
  module_and_function: test.echo
  args: [one]
  assertion: assertEqual
  expected_return: two
