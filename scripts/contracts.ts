import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { build as bundle } from 'esbuild';
import { openApiDocument } from '../src/api/openapi/document.ts';
import { openOwnServers } from '../test/support/own-servers.ts';
import { openTarget } from '../test/support/target.ts';
import { buildPrograms } from './build.mjs';
import { AGENTS } from './contracts/agents.ts';
import { CLIENTS, EXPECTED, type GeneratedClient, RUNTIMES } from './contracts/clients.ts';
import { OWN_CLIENT } from './contracts/own-client.ts';
import { SIGN_IN } from './contracts/sign-in.ts';
import { type Contract, npx, type Service, tool, typeCheck } from './contracts/tool.ts';

/**
 * `npm run contracts [NAME ...]`: generates clients from the OpenAPI document with the generators of others, compiles them, and
 * makes three calls with each to a service of its own. A further linter reads the document; agents connect as the guide says, with
 * a key and by signing in; the TypeScript client runs in other runtimes. Fails for an error and for a warning. npx fetches the
 * tools, so that they are no dependencies of the project.
 */

const CONTRACTS: Record<string, Contract> = {
  ...Object.fromEntries(
    CLIENTS.map((client): [string, Contract] => [
      client.name,
      (folder, service) => tryClient(client, folder, service),
    ]),
  ),
  redocly: lintWithRedocly,
  ...AGENTS,
  ...SIGN_IN,
  ...OWN_CLIENT,
};

await runContracts(process.argv.slice(2));

async function runContracts(names: readonly string[]): Promise<void> {
  const unknown = names.filter((name) => !(name in CONTRACTS));
  if (unknown.length > 0) {
    console.error(`No such tool: ${unknown.join(', ')}. The tools are: ${Object.keys(CONTRACTS).join(', ')}`);
    process.exit(1);
  }
  const chosen = Object.entries(CONTRACTS).filter(([name]) => names.length === 0 || names.includes(name));
  const root = mkdtempSync(join(tmpdir(), 'souk-contracts-'));
  const programs = await buildPrograms();
  const servers = await openOwnServers();
  let failed = 0;
  try {
    const target = await openTarget({ programs, ...servers });
    try {
      const { key, accountId } = await target.account('contracts');
      const service = { url: target.gateway, key, database: target.database, accountId };
      writeFileSync(join(root, 'package.json'), '{"type":"module"}');
      await tool('npm', ['install', '--no-save', '--no-audit', '--no-fund', ...RUNTIMES], root);
      for (const [name, contract] of chosen)
        if (!(await isKept(contract, name, join(root, name.replace(/\W+/g, '-')), service))) failed += 1;
    } finally {
      await target.close();
    }
  } finally {
    await servers.close();
    rmSync(root, { recursive: true, force: true });
  }
  console.log(`${chosen.length - failed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

async function isKept(contract: Contract, name: string, folder: string, service: Service): Promise<boolean> {
  mkdirSync(folder);
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(openApiDocument()));
  try {
    await contract(folder, service);
    console.log(`ok     ${name}`);
    return true;
  } catch (error) {
    console.log(`FAILED ${name}\n${(error as Error).message}`);
    return false;
  }
}

async function tryClient(client: GeneratedClient, folder: string, { url, key }: Service): Promise<void> {
  const output = await npx(client.packages, client.command, client.args, folder);
  const warnings = output.split('\n').filter((line) => /warn|deprecat|error/i.test(line));
  if (warnings.length > 0) throw new Error(warnings.join('\n'));
  await typeCheck(folder, client.program);
  const program = join(folder, 'program.mjs');
  const entryPoints = [join(folder, 'program.ts')];
  await bundle({ entryPoints, outfile: program, bundle: true, format: 'esm', target: 'node20' });
  const printed = await tool(process.execPath, [program], folder, { SOUK_URL: url, SOUK_KEY: key });
  if (!isDeepStrictEqual(JSON.parse(printed), EXPECTED)) throw new Error(`printed ${printed}`);
}

async function lintWithRedocly(folder: string): Promise<void> {
  // The response of a call that has not ended is referenced by an extension only, which this rule does not count.
  const skipped = ['--skip-rule', 'no-unused-components'];
  const args = ['lint', 'openapi.json', '--extends', 'recommended', '--format', 'json', ...skipped];
  const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const output = await npx(['@redocly/cli@2.77.0'], 'redocly', args, folder, env);
  if (!/"totals":\s*\{\s*"errors":\s*0,\s*"warnings":\s*0,/.test(output)) throw new Error(output);
}
