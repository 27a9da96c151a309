#!/bin/sh
# Reduces the root directory of a base image with Python: no pip, no compiler, no setuid or setgid
# file, and the standard library compiled in a way that does not depend on the times of files.
# Runs inside the Dockerfile, as root.
set -eu

stdlib=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')

# Parts of Python that install, test, draw or document.
for name in ensurepip idlelib lib2to3 test tkinter turtledemo turtle.py; do
    rm -rf "${stdlib:?}/$name"
done
rm -rf "${stdlib:?}"/config-* /usr/share/python-wheels
for packages in "$stdlib"/*-packages /usr/lib/python3/dist-packages /usr/local/lib/python3*/*-packages; do
    for name in pip setuptools wheel pkg_resources _distutils_hack distutils-precedence.pth; do
        rm -rf "${packages:?}/$name" "${packages:?}/$name"-*
    done
done
for directory in /bin /usr/bin /usr/local/bin; do
    find "$directory/" -maxdepth 1 \( -name 'pip*' -o -name 'idle*' -o -name '2to3*' -o -name 'wheel' \) -delete
done

# Compilers and linkers, where the base has any.
for directory in /bin /usr/bin /usr/local/bin; do
    find "$directory/" -maxdepth 1 \( -name cc -o -name as -o -name ld -o -name make -o -name 'ld.*' \
        -o -name 'c++*' -o -name 'c[89]9*' -o -name 'cpp*' -o -name 'clang*' \
        -o -name 'gcc*' -o -name 'g++*' -o -name '*-gcc*' -o -name '*-g++*' -o -name '*-cpp*' \
        -o -name '*-ld*' -o -name '*-as' \) -delete
done
rm -rf /usr/lib/gcc /usr/libexec/gcc

# Files that a service never reads. Copyright notices stay.
rm -rf /usr/share/man /usr/share/info /usr/share/locale /usr/share/lintian
find /usr/share/doc -type f ! -name copyright -delete 2>/dev/null || :
find /usr/share/doc -type l -delete 2>/dev/null || :
rm -rf /var/cache/* /var/lib/apt/lists/* /var/log/* ~/.cache /tmp/* /etc/machine-id

find / -xdev -type f -perm /6000 -exec chmod a-s {} +

find / -xdev -type d -name __pycache__ -prune -exec rm -rf {} +
python3 -B -m compileall -q -f --invalidation-mode unchecked-hash "$stdlib"

mkdir -p /home/kudo
echo 'kudo:x:65532:65532::/home/kudo:/usr/sbin/nologin' >>/etc/passwd
echo 'kudo:x:65532:' >>/etc/group
rm -f "$0"
