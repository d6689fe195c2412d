fail1:
  test.fail_without_changes: []
failc:
  test.fail_with_changes: []
ok1:
  test.succeed_without_changes: []
chg1:
  test.succeed_with_changes: []
a1:
  test.nop:
  - onchanges:
    - test: failc
a2:
  test.nop:
  - onfail:
    - test: chg1
a3:
  test.nop:
  - onfail:
    - test: chg1
    - test: fail1
a4:
  test.nop:
  - onchanges:
    - test: ok1
  - require:
    - test: fail1
a5:
  test.nop:
  - onchanges:
    - test: chg1
  - require:
    - test: fail1
a6:
  test.nop:
  - onfail:
    - test: fail1
  - require:
    - test: failc
a7:
  test.nop:
  - onfail:
    - test: ok1
  - onchanges:
    - test: ok1
a8:
  test.nop:
  - onfail:
    - test: fail1
  - onchanges:
    - test: ok1
a9:
  test.nop:
  - onfail:
    - test: ok1
  - onchanges:
    - test: chg1
a11:
  test.nop:
  - require:
    - test: a1
a12:
  test.nop:
  - onchanges:
    - test: failc
    - test: chg1
a13:
  test.nop:
  - onchanges_any:
    - test: failc
    - test: chg1
a14:
  test.nop:
  - onchanges_any:
    - test: failc
a15:
  test.nop:
  - require_any:
    - test: failc
    - test: fail1
a16:
  test.nop:
  - watch_any:
    - test: failc
    - test: fail1
a17:
  test.nop:
  - watch_any:
    - test: failc
    - test: chg1
a18:
  test.nop:
  - watch:
    - test: failc
a19:
  test.succeed_with_changes:
  - watch:
    - test: chg1
a20:
  cmd.run:
  - name: 'false'
  - watch:
    - test: chg1
a21:
  cmd.wait:
  - name: echo
  - watch:
    - test: chg1
  - unless: 'true'
a22:
  cmd.run:
  - name: echo
  - unless: 'true'
  - onlyif: 'false'
  - creates: /tmp
a23:
  cmd.run:
  - name: echo
  - unless: 'false'
  - onlyif: 'false'
a24:
  cmd.run:
  - name: echo
  - unless: 'true'
  - onlyif: 'true'
a26:
  test.nop:
  - onfail:
    - test: a4
a27:
  test.nop:
  - require:
    - test: a4
a28:
  test.nop:
  - require:
    - test: a24b
a24b:
  test.nop:
  - onchanges:
    - test: ok1
a29:
  test.nop:
  - onfail:
    - test: a24b
a30:
  test.nop:
  - onfail_stop: false
  - onfail:
    - test: fail1
a31:
  test.fail_without_changes:
  - retry:
      attempts: 3
      interval: 0
  - onfail:
    - test: fail1
a33:
  test.nop:
  - onfail_all:
    - test: fail1
    - test: failc
a34:
  test.nop:
  - onfail_any:
    - test: fail1
    - test: ok1
a35:
  test.nop:
  - require:
    - test: a31
a36:
  test.succeed_with_changes:
  - prereq:
    - test: chg1
  - require:
    - test: fail1
a37:
  test.nop:
  - check_cmd:
    - 'true'
    - 'false'
a38:
  test.nop:
  - unless:
    - fun: file.file_exists
      path: /etc/passwd
a39:
  test.nop:
  - unless:
    - foo: 1
a40:
  test.nop:
  - onlyif:
    - fun: cmd.run
      args:
      - echo hi
a41:
  test.nop:
  - onlyif:
    - fun: test.arg
      args:
      - hi
      get_return: args:0
a42:
  test.nop:
  - onlyif:
    - fun: test.arg
      args: []
      get_return: args:0
a43:
  nosuch.nop: []
a44:
  test.nop:
  - require:
    - test: fail1
  - listen:
    - test: chg1
a45:
  module.run:
  - name: test.exception
  - message: x
a49:
  module.run:
  - name: cmd.run
  - m_name: x
a50:
  module.run: []
a51:
  module.wait:
  - test.ping: []
  - watch:
    - test: chg1
a52:
  module.run:
  - test.arg:
    - 1
    - a
    - b: 2
    - c: 3
  - test.ping: null
  - test.kwarg:
      z: 1
a53:
  module.run:
  - name: test.arg
  - args:
    - 1
    - 2
  - kwargs:
      b: 3
  - returner: nosuch
a54:
  cmd.script:
  - source: salt://nosuch
  - name: foo
a55:
  cmd.script:
  - name: salt://s.sh a b
  - creates: /tmp
a56:
  cmd.script:
  - name: salt://s.sh x y
  - cwd: /nonexist
a57:
  cmd.run:
  - name: echo
  - use_vt: false
  - output_loglevel: quiet
  - raise_err: false
a58:
  cmd.run:
  - name: printf 'x\n\nchanged=no comment=\"all fine\" a=b\n'
  - stateful: true
a59:
  cmd.run:
  - name: 'printf ''x\n{\"changed\": false, \"comment\": \"c\", \"result\": false}\n'''
  - stateful: true
a60:
  cmd.run:
  - name: echo real; echo changed=yes
  - stateful:
    - test_name: echo 'changed=yes comment=tst'
a61:
  cmd.wait_script:
  - name: salt://s.sh
  - watch:
    - test: chg1
