calls_one:
  module.run:
    - file.touch: [{name: /srv/calls_one}]
calls_many:
  module.run:
    - test.echo: [text: hello]
    - test.arg: [a, b, c: 1]
    - test.ping:
calls_named:
  module.run:
    - name: x
    - file.write:
      - path: /srv/calls_written
      - args: [line]
calls_told:
  module.run:
    - file.append:
      - path: /srv/calls_written
      - args: [more]
    - onchanges: [module: calls_named]
calls_unknown:
  module.run:
    - no.such: []
calls_missing:
  module.run:
    - file.copy: [src: /etc/hosts]
