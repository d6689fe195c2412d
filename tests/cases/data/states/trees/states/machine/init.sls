machine_host:
  host.present:
    - ip: 192.0.2.50
    - names: [db.example.org, db]
machine_host_gone:
  host.absent:
    - ip: 192.0.2.99
    - name: ghost.example.org
machine_cron:
  cron.present:
    - name: /usr/local/bin/backup --all
    - user: root
    - minute: 15
    - hour: '*/6'
    - identifier: BACKUP
    - comment: every six hours
machine_cron_special:
  cron.present:
    - name: /usr/local/bin/boot
    - special: '@reboot'
machine_cron_env:
  cron.env_present:
    - name: MAILTO
    - value: ops@example.org
machine_cron_gone:
  cron.absent:
    - name: /bin/old
    - identifier: OLD
machine_auth:
  ssh_auth.present:
    - user: root
    - enc: ssh-ed25519
    - comment: deploy@ci
    - options: ['no-pty', 'from="192.0.2.0/24"']
    - names:
      - AAAAC3NzaC1lZDI1NTE5AAAAIA3fYv0P5Zf5DdA2cXN1yQx0zT0V8bq2kD1r0mJ4c9aE
    - config: /srv/authorized_keys
machine_known:
  ssh_known_hosts.present:
    - name: git.example.org
    - user: root
    - config: /srv/known_hosts
    - enc: ssh-ed25519
    - key: AAAAC3NzaC1lZDI1NTE5AAAAIA3fYv0P5Zf5DdA2cXN1yQx0zT0V8bq2kD1r0mJ4c9aE
    - hash_known_hosts: False
machine_ini:
  ini.options_present:
    - name: /etc/machine.ini
    - separator: '='
    - sections:
        main: {verbose: 'yes', level: 3}
        other: {path: /srv}
    - unless: test -e /etc/machine.ini
machine_ini_less:
  ini.options_absent:
    - name: /etc/machine.ini
    - separator: '='
    - sections:
        main: [level]
    - require: [ini: machine_ini]
vm.swappiness:
  sysctl.present:
    - value: 10
    - config: /etc/sysctl.d/60-machine.conf
machine_mount:
  mount.mounted:
    - name: /srv/data
    - device: /dev/disk/by-label/data
    - fstype: ext4
    - opts: noatime,nofail
    - dump: 0
    - pass_num: 2
    - mount: False
    - mkmnt: True
Europe/Berlin:
  timezone.system: [utc: True]
machine_env:
  environ.setenv:
    - name: MACHINE
    - value: here
machine_known_by_both:
  ssh_known_hosts.present:
    - name: other.example.org
    - user: root
    - config: /srv/known_hosts
    - enc: ssh-ed25519
    - key: AAAAC3NzaC1lZDI1NTE5AAAAIPq0gV5l2Y2mS0kq9bq7l6b0b3m9oQx8f1w2e3r4t5yU
    - fingerprint: 'aa:bb'
    - hash_known_hosts: False
    - require: [ssh_known_hosts: machine_known]
machine_auth_less:
  ssh_auth.absent:
    - user: root
    - source: salt://machine/nothing.pub
    - config: /srv/authorized_keys
machine_auth_missing:
  ssh_auth.present:
    - user: root
    - source: salt://machine/nothing.pub
    - config: /srv/authorized_keys
