x2:
  event.wait:
  - name: foo
x3:
  test.check_pillar:
  - integer:
    - a
    - b
  - string: a
  - boolean: a
  - listing: a
  - dictionary: a
x6:
  cmd.script:
  - source: salt://s.sh
  - template: jinja
  - stateful: true
x7:
  module.run:
  - name: test.arg
  - a: 1
  - order: 3
x8:
  module.run:
  - service.nosuch:
    - name: x
  - test.arg: null
x9:
  module.run:
  - name: test.arg
  - m_name: 1
x10:
  module.run:
  - test.echo: []
x11:
  test.configurable_test_state:
  - result: false
  - changes: false
