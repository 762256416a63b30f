import { chmod, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'

/**
 * Does what systemctl would do with one service, in the folder of ROOT: starts what the unit names, and remembers the
 * process. It changes no user and has no sandbox. It starts nothing again: a file NAME.restarts says how often it would have.
 */
const script = `#!/bin/sh
for last in "$@"; do :; done
unit="$ROOT/etc/systemd/system/$last.service"
pid=$(cat "$ROOT/$last.pid" 2>/dev/null)
runs() { [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; }
end() {
  runs && kill -TERM "$pid"
  while runs; do sleep 0.05; done
}
echo "$*" >>"$ROOT/calls"
case "$1" in
  enable) touch "$ROOT/$last.enabled" ;;
  disable) end && rm -f "$ROOT/$last.enabled" ;;
  restart)
    end
    setsid sh -c "exec $(sed -n 's/^ExecStart=//p' "$unit")" >"$ROOT/$last.log" 2>&1 </dev/null &
    echo $! >"$ROOT/$last.pid" ;;
  show)
    case "$2" in
      *NRestarts) cat "$ROOT/$last.restarts" 2>/dev/null || echo 0 ;;
      *) echo "\${pid:-0}" ;;
    esac ;;
  is-active) if [ -e "$ROOT/$last.restarts" ]; then echo activating; exit 3; elif runs; then echo active; else echo failed; exit 3; fi ;;
  is-enabled) if [ -e "$ROOT/$last.enabled" ]; then echo enabled; else echo disabled; exit 1; fi ;;
esac
`

/**
 * Makes a folder that `basalt service --root` takes for a machine on which systemd runs.
 * @param {string} root
 * @returns {Promise<Record<string, string>>} the variables with which its systemctl is found
 */
export async function machineWithSystemd(root) {
  await mkdir(path.join(root, 'run/systemd/system'), { recursive: true })
  await mkdir(path.join(root, 'bin'))
  const program = path.join(root, 'bin/systemctl')
  await writeFile(program, script)
  await chmod(program, 0o755)
  return { ROOT: root, PATH: `${path.join(root, 'bin')}:${process.env.PATH}` }
}
