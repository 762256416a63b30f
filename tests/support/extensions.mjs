/**
 * Returns whether the tests of an extension of Postgres run; says so where they are skipped.
 *
 * The environment decides, so that no test passes in silence where an extension went missing: only one that
 * `BASALT_TEST_EXTENSIONS` does not name is skipped. Without that variable, each one runs.
 * @param {string} name
 */
export function runsTestsOf(name) {
  const installed = process.env.BASALT_TEST_EXTENSIONS?.split(',')
  const runs = installed?.includes(name) ?? true
  if (!runs)
    console.warn(
      `skipped: BASALT_TEST_EXTENSIONS does not name ${name}; \`make extensions\` says why`,
    )
  return runs
}
