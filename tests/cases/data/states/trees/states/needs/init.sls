down:
  cmd.run:
    - name: echo down >> /srv/needs.log
    - prereq:
      - file: release
release:
  file.managed:
    - name: /srv/release
    - contents: version 2
up:
  cmd.run:
    - name: echo up >> /srv/needs.log
    - onchanges: [file: release]
    - require: [cmd: down]
quiet:
  cmd.run:
    - name: echo never >> /srv/needs.log
    - onchanges: [file: untouched]
untouched:
  file.exists:
    - name: /etc/hosts
base_style:
  file.managed:
    - name: /srv/style.a
    - mode: 600
    - user: root
    - contents: a
used:
  file.managed:
    - name: /srv/style.b
    - contents: b
    - use: [file: base_style]
broken:
  test.fail_without_changes:
    - name: broken
    - onfail_in: [cmd: rescue]
rescue:
  cmd.run:
    - name: echo rescue >> /srv/needs.log
not_rescued:
  cmd.run:
    - name: echo not >> /srv/needs.log
    - onfail: [file: release]
stopped:
  test.nop:
    - require: [test: broken]
any_of:
  cmd.run:
    - name: echo any >> /srv/needs.log
    - require_any:
      - test: broken
      - file: base_style
any_changed:
  cmd.wait:
    - name: echo any_changed >> /srv/needs.log
    - watch_any:
      - test: broken
      - file: base_style
listened:
  cmd.wait:
    - name: echo listened >> /srv/needs.log
    - listen:
      - file: used
      - file: release
pushed:
  file.managed:
    - name: /srv/pushed
    - contents: x
    - require_in: [cmd: after]
    - onchanges_in:
      - cmd: after
after:
  cmd.run:
    - name: echo after >> /srv/needs.log
early:
  test.nop: [order: 1]
late:
  test.nop: [order: last]
globbed:
  test.nop:
    - require: [file: /srv/style.*]
