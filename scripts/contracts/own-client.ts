import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { transform } from 'esbuild';
import { buildClientPackage } from '../../test/support/client-package.ts';
import { TOUR, type TourOptions } from '../../test/support/client-tour.ts';
import { BODY, SECRET, signedHeaders } from '../../test/support/signed-webhook.ts';
import { type Contract, npx, type Service, tool } from './tool.ts';

/** The package souk-client in the runtimes that it supports; `test/client/` has the browser. */
export const OWN_CLIENT: Readonly<Record<string, Contract>> = {
  node: inRuntime('NODE', (folder, env) => tool(process.execPath, [PROGRAM], folder, env)),
  'node 24': inRuntime('NEWER', (folder, env) =>
    npx(['node@24.21.0'], 'node', [PROGRAM], folder, { ...env, ...SCRIPTS }),
  ),
  deno: inRuntime('DENO', (folder, env) =>
    npx(['deno@2.9.6'], 'deno', ['run', '--allow-net', '--allow-env', PROGRAM], folder, env),
  ),
  bun: inRuntime('BUN', (folder, env) =>
    npx(['bun@1.4.5'], 'bun', [PROGRAM], folder, { ...env, ...SCRIPTS }),
  ),
};

const PROGRAM = 'program.mjs';

/** For packages whose script puts the program in place. */
const SCRIPTS = { npm_config_ignore_scripts: 'false' };

/** @param letters make products of this runtime only. @param start runs the program, and returns what it prints. */
function inRuntime(
  letters: string,
  start: (folder: string, env: Record<string, string>) => Promise<string>,
): Contract {
  return async (_, service) => {
    const { folder, close } = await buildClientPackage();
    try {
      const { code } = await transform(readFileSync('test/support/client-tour.ts', 'utf8'), { loader: 'ts' });
      writeFileSync(join(folder, 'tour.mjs'), code);
      writeFileSync(
        join(folder, PROGRAM),
        `import process from 'node:process';
import * as library from 'souk-client';
import { tour } from './tour.mjs';
console.log(JSON.stringify(await tour(library, JSON.parse(process.env.TOUR_OPTIONS))));`,
      );
      writeFileSync(
        join(folder, 'package.json'),
        '{ "type": "module", "dependencies": { "souk-client": "*" } }',
      );
      const options = JSON.stringify(optionsOf(letters, service));
      const printed = await start(folder, { TOUR_OPTIONS: options });
      const last = printed.trim().split('\n').at(-1) ?? '';
      if (!last.startsWith('{') || !isDeepStrictEqual(JSON.parse(last), TOUR))
        throw new Error(`printed ${printed}`);
    } finally {
      close();
    }
  };
}

function optionsOf(letters: string, { url, key }: Service): TourOptions {
  const asins = [1, 2].map((number) => `B0${letters}`.padEnd(9, '0') + number);
  return {
    baseUrl: url,
    apiKey: key,
    asins,
    webhook: { body: BODY, headers: signedHeaders(), secret: SECRET },
  };
}
