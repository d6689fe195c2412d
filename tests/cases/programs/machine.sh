# The machine that the trees are applied to: in the overlay, before the program named is run there.
set -e
trees=$(dirname "$0")/../data/states/trees
cat > /etc/passwd <<E
root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin
eve:x:4713:100:Eve:/home/eve:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
E
cat > /etc/group <<E
root:x:0:
daemon:x:1:
adm:x:4:
shadow:x:42:
www-data:x:33:
users:x:100:
gone:x:4799:
nogroup:x:65534:
E
sed 's/:.*/:*:19000:0:99999:7:::/' /etc/passwd > /etc/shadow
sed 's/:.*/:*::/' /etc/group > /etc/gshadow
chmod 640 /etc/shadow /etc/gshadow
: > /etc/subuid
: > /etc/subgid
rm -rf /etc/sysctl.d /etc/sysctl.conf /etc/fakesysctl /etc/fakecron /etc/webd /etc/beacon.d
mkdir -p /home/eve /etc/fakesysctl /etc/fakecron /etc/sysctl.d /run/systemd/system
echo 60 > /etc/fakesysctl/vm.swappiness
printf '127.0.0.1\tlocalhost\n192.0.2.99\tghost.example.org\n' > /etc/hosts
printf '# table\n' > /etc/fstab
printf '# SALT_CRON_IDENTIFIER:OLD\n* * * * * /bin/old\n' > /etc/fakecron/root
ln -sfn /usr/share/zoneinfo/Etc/UTC /etc/localtime
echo Etc/UTC > /etc/timezone
rm -f /etc/adjtime
cp -r "$trees/states" "$trees/pillar" /mnt/
cat > /mnt/minion <<E
{"id": "web1", "root_dir": "/mnt/root", "cachedir": "/mnt/cache", "file_client": "local",
 "file_roots": {"base": ["/mnt/states"]}, "pillar_roots": {"base": ["/mnt/pillar"]},
 "grains": {"roles": ["web", "front"]}, "log_level": "quiet", "log_level_logfile": "quiet"}
E
mkdir -p /mnt/given/app/bin /mnt/given/app/doc /mnt/given/more
cd /mnt/given
printf '#!/bin/sh\necho app\n' > app/bin/app
chmod 755 app/bin/app
echo manual > app/doc/manual
echo more > more/more
printf '#!/bin/sh\necho tool\n' > tool
tar --sort=name --mtime=@1700000000 --owner=0 --group=0 -cf - app | gzip -n > app.tar.gz
sha256sum app.tar.gz > app.tar.gz.sha256
python3 -c 'import zipfile; zipfile.ZipFile("more.zip", "w").writestr(zipfile.ZipInfo("more/more"), "more\n")'
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
git init -q -b main repo
echo 1 > repo/one
git -C repo add one
git -C repo commit -q -m one
git -C repo tag v1
echo 2 > repo/two
git -C repo add two
git -C repo commit -q -m two
git clone -q --bare repo repo.git
cd /
exec "$@"
