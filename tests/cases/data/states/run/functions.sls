x1:
  module.run:
  - name: test.false
x2:
  module.run:
  - name: test.retcode
  - code: 3
x4:
  module.run:
  - name: cmd.run
  - cmd: 'false'
x5:
  module.run:
  - cmd.run_all:
    - cmd: 'false'
x6:
  module.run:
  - cmd.run:
    - 'false'
x7:
  module.run:
  - test.arg:
    - - 1
      - 2
    - a: 1
  - test.echo:
    - 3
  - test.outputter:
    - {}
x10:
  module.run:
  - state.single:
    - fun: test.fail_without_changes
    - name: x
x13:
  module.run:
  - test.arg: hi
x16:
  module.wait:
  - name: test.ping
x18:
  module.run:
  - name: test.arg
  - args: 3
x19:
  module.run:
  - test.echo:
    - text: a
    - bogus: b
x22:
  cmd.run:
  - name: echo hi
  - shell: /nonexist
