import { readdirSync } from 'node:fs'
import { join } from 'node:path'

import js from '@eslint/js'
import jsxA11y from 'eslint-plugin-jsx-a11y'
import reactHooks from 'eslint-plugin-react-hooks'
import globals from 'globals'
import tseslint from 'typescript-eslint'

const source = join(import.meta.dirname, 'client/src')

const features = readdirSync(join(source, 'features'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)

/** Files below `client/src/<from>` may not import what `patterns` names, by alias or by climbing out. */
function border(from, patterns, message) {
  return {
    files: [`client/src/${from}/**/*.{ts,tsx}`],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: [{ group: [...patterns, '../**'], message: `${message} Import with "@/…".` }] },
      ],
    },
  }
}

export default tseslint.config(
  {
    ignores: [
      '**/dist/',
      '**/coverage/',
      '**/playwright-report/',
      '**/test-results/',
      '.basalt/',
      'target/',
      // Deno's own linter looks after what Deno runs.
      'functions/',
      'tests/integration/functions/',
      'tests/conformance/functions/',
      'tests/projects/*/supabase/functions/',
      // What pip has installed.
      'tests/python/.venv/',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.{js,mjs}'],
    languageOptions: { globals: globals.node },
  },
  {
    // The script of the page that shows the mails of a project without a mail server.
    files: ['server/auth/src/delivery/inbox/page/*.js'],
    languageOptions: { globals: globals.browser },
  },
  {
    // The script of a new project's page, which has supabase-js from a script before it.
    files: ['server/basalt/src/commands/init/site/*.js'],
    languageOptions: { globals: { ...globals.browser, supabase: 'readonly' } },
  },
  {
    // The script that serves an edge function, which Deno runs.
    files: ['server/functions/src/worker/worker.js'],
    languageOptions: { globals: { ...globals.browser, Deno: 'readonly' } },
  },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/consistent-type-definitions': ['error', 'interface'],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    },
  },
  {
    files: ['client/**/*.{ts,tsx}'],
    extends: [jsxA11y.flatConfigs.strict, reactHooks.configs.flat['recommended-latest']],
    languageOptions: { globals: globals.browser },
  },
  {
    files: ['client/**/*.{ts,tsx}'],
    ignores: ['client/src/lib/supabase/client.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: "ImportSpecifier[imported.name='createClient']",
          message: 'The site has one client: take it from "@/lib/supabase/get-supabase".',
        },
        {
          selector:
            ':matches(ImportDeclaration, ImportExpression)[source.value=/^@supabase.(?!supabase-js$)/]',
          message: 'The parts of supabase-js are used through the one client.',
        },
        {
          selector: "CallExpression[callee.name='requestIdleCallback'][arguments.length<2]",
          message: 'A busy page is never idle: say how long to wait at most, { timeout: … }.',
        },
        {
          selector:
            "CallExpression[callee.property.name='requestIdleCallback'][arguments.length<2]",
          message: 'A busy page is never idle: say how long to wait at most, { timeout: … }.',
        },
      ],
    },
  },
  {
    // Stand-ins for a browser's methods do nothing, and spies are looked at without being called.
    files: ['client/src/testing/**', '**/*.test.{ts,tsx}'],
    rules: {
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    // The generator decides what these files look like.
    files: ['client/src/lib/supabase/database.types.ts', 'tests/projects/*.types.ts'],
    rules: {
      '@typescript-eslint/consistent-indexed-object-style': 'off',
      '@typescript-eslint/consistent-type-definitions': 'off',
      '@typescript-eslint/no-redundant-type-constituents': 'off',
    },
  },
  // Imports go one way only: lib → components → features → app.
  border('lib', ['@/components/**', '@/features/**', '@/app/**'], 'lib knows nothing above it.'),
  border('components', ['@/features/**', '@/app/**'], 'A component knows no feature and no page.'),
  ...features.map((name) =>
    border(
      `features/${name}`,
      ['@/app/**', '@/features/**', `!@/features/${name}`, `!@/features/${name}/**`],
      'A feature imports no other feature; app composes them.',
    ),
  ),
)
