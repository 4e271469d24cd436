import { execFile } from 'node:child_process';
import { parseArgs, promisify } from 'node:util';
import type { RequestOptions } from './client.ts';

const run = promisify(execFile);

/** A request as an example makes it with curl. */
export interface CurlRequest {
  url: string;
  options: RequestOptions;
}

/** Returns the shell examples of a Markdown text, in their order. */
export function shellExamples(markdown: string): string[] {
  return [...markdown.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, script = '']) => script);
}

/**
 * Returns the requests of the curl commands of a script, as a shell parses them: a function replaces curl, and prints its
 * arguments and standard input.
 */
export async function curlRequests(script: string, env: Record<string, string>): Promise<CurlRequest[]> {
  const shim = `npx() { :; }
curl() { for word in "$@"; do [ "$word" = @- ] && word="$(cat)"; printf '%s\\0' "$word"; done; printf 'END\\0'; }`;
  const { stdout } = await run('sh', ['-euc', `${shim}\n${script}`], {
    env: { PATH: process.env.PATH ?? '', ...env },
  });
  const commands: string[][] = [[]];
  for (const word of stdout.split('\0').slice(0, -1)) {
    if (word === 'END') commands.push([]);
    else commands.at(-1)?.push(word);
  }
  return commands.slice(0, -1).map(requestOf);
}

/** @throws for an option that no example has used so far. */
function requestOf(args: string[]): CurlRequest {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      header: { type: 'string', short: 'H', multiple: true },
      request: { type: 'string', short: 'X' },
      data: { type: 'string', short: 'd' },
      'data-binary': { type: 'string' },
      compressed: { type: 'boolean' },
      include: { type: 'boolean', short: 'i' },
      'fail-with-body': { type: 'boolean' },
      retry: { type: 'string' },
      'retry-connrefused': { type: 'boolean' },
      'retry-max-time': { type: 'string' },
      'max-time': { type: 'string' },
      'no-buffer': { type: 'boolean', short: 'N' },
    },
  });
  const [url, ...others] = positionals;
  if (url === undefined || others.length > 0) throw new Error(`no single address in: curl ${args.join(' ')}`);
  const body = values.data ?? values['data-binary'];
  const headers = (values.header ?? []).map((header) => header.split(/:\s*/s, 2) as [string, string]);
  return {
    url,
    options: {
      method: values.request ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
        ...(values.compressed ? { 'accept-encoding': 'gzip' } : {}),
        ...Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
      },
      ...(body === undefined ? {} : { body }),
    },
  };
}
