no_source:
  file.managed:
    - name: /srv/failing
    - source: salt://failing/nothing
no_directory:
  file.managed:
    - name: /srv/no/such/dir
    - contents: x
no_user:
  file.managed:
    - name: /srv/owned
    - contents: x
    - user: nobodyatall
relative:
  file.directory: [name: not/absolute]
a_file:
  file.managed: [name: /srv/taken, contents: x]
not_a_directory:
  file.directory:
    - name: /srv/taken
    - require: [file: a_file]
depends:
  test.nop: [require: [file: no_source]]
depends_further:
  test.nop: [require: [test: depends]]
unknown_state:
  nosuch.present: []
unknown_function:
  file.nosuch: []
missing_argument:
  file.symlink: [name: /srv/link]
missing_requisite:
  test.nop: [require: [file: nowhere]]
symlink_on_file:
  file.symlink:
    - name: /srv/taken
    - target: /etc/hosts
    - require: [file: a_file]
missing_user_crontab:
  cron.present: [name: /bin/true, user: nosuch]
stops:
  test.fail_without_changes:
    - failhard: True
never:
  test.nop: []
