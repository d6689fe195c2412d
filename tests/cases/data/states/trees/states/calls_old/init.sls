calls_named:
  module.run:
    - name: file.touch
    - m_name: /srv/calls_named
calls_args:
  module.run:
    - name: test.arg
    - args: [a, b]
    - kwargs: {c: 1}
calls_wait:
  module.wait:
    - name: file.append
    - path: /srv/calls_file
    - args: ['told']
    - watch: [file: calls_file]
calls_file:
  file.managed:
    - name: /srv/calls_file
    - contents: x
    - replace: False
calls_unknown:
  module.run:
    - name: no.such
calls_false:
  module.run:
    - name: test.false
