#!/bin/sh
# packaging/try-deb.sh FILE.deb: installs the package into a clean Debian, uses what it brings, and removes it again. It needs
# root and mmdebstrap.
set -eu
package=$1
[ "$(id -u)" = 0 ] || { echo "SKIP: only root may make a clean Debian"; exit 0; }
command -v mmdebstrap > /dev/null || { echo "SKIP: mmdebstrap is not installed"; exit 0; }
root=$(mktemp -d)
mounted=
cleanup() {
  [ -z "$mounted" ] || umount "$root/proc"
  rm -rf "$root"
}
trap cleanup EXIT
step() { printf '== %s\n' "$*"; }
within() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

step "a clean Debian"
mmdebstrap --quiet --variant=apt --include=systemd,man-db,adduser,procps "$(. /etc/os-release; echo "$VERSION_CODENAME")" "$root"
mount -t proc proc "$root/proc"
mounted=yes
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp "$package" "$root/tmp/weir.deb"

step "install"
within apt-get -q update > /dev/null
within apt-get -q install -y --no-install-recommends /tmp/weir.deb

step "the program, its user, manual, configuration and unit"
within weir --version
within getent passwd weir
within man -w weir weir-get weir-forward
within weir forward --config /etc/weir/weir.toml --check
within systemd-analyze verify weir.service
grep -qx 'DynamicUser=no' "$root/lib/systemd/system/weir.service"
within test -L /etc/systemd/system/multi-user.target.wants/weir.service

step "a forwarder as its user answers"
within install -d -o weir /run/nfd
within runuser -u weir -- weir forward --config /etc/weir/weir.toml 2> "$root/tmp/log" &
within sh -c 'for i in $(seq 50); do [ -S /run/nfd/nfd.sock ] && break; sleep 0.1; done; weir status > /tmp/status; weir ping-server /try & \
  weir ping /try --count 3; kill $!'
within pkill -u weir -x weir 2> /dev/null || kill %1
wait || true

step "a configuration that was changed stays"
echo '# changed here' >> "$root/etc/weir/weir.toml"
within dpkg -i /tmp/weir.deb > /dev/null
grep -q '# changed here' "$root/etc/weir/weir.toml"
within apt-get -q remove -y weir > /dev/null
grep -q '# changed here' "$root/etc/weir/weir.toml"

step "nothing stays after a purge"
within apt-get -q purge -y weir > /dev/null
for path in /etc/weir /usr/bin/weir /var/lib/weir /usr/share/doc/weir /lib/systemd/system/weir.service; do
  [ ! -e "$root$path" ] || { echo "FAILED: $path stays" >&2; exit 1; }
done
! within getent passwd weir || { echo "FAILED: the user stays" >&2; exit 1; }
echo "the package works"
