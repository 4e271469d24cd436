import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { transform } from 'esbuild';
import { type Contract, npx, type Service, tool, typeCheck } from './tool.ts';

/** The programs of the guide "Tools for agents", with its configurations and its code. */
export const AGENTS: Readonly<Record<string, Contract>> = {
  inspector: listStrictly,
  'http configuration': listByConfiguration,
  'mcp-remote': callByCommand,
  'ai sdk': runExample,
};

const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0';

async function listStrictly(folder: string, { url, key }: Service): Promise<void> {
  const args = ['--cli', `${url}/mcp?toolsets=all`, '--transport', 'http', '--header', `X-API-Key: ${key}`];
  const output = await npx(
    [INSPECTOR],
    'mcp-inspector',
    [...args, '--method', 'tools/list', '--strict'],
    folder,
  );
  if (/warn/i.test(output)) throw new Error(output);
}

async function listByConfiguration(folder: string, service: Service): Promise<void> {
  const configuration =
    examples('json', service).find((text) => text.includes('"headers": { "X-API-Key"')) ?? '';
  writeFileSync(join(folder, 'mcp.json'), configuration);
  const args = ['--cli', '--config', 'mcp.json', '--server', 'souk', '--method', 'tools/list'];
  const output = await npx([INSPECTOR], 'mcp-inspector', args, folder);
  if (!output.includes('market_get_product')) throw new Error(output);
}

/** Starts the command of the configuration for Claude Desktop, and calls a tool over stdin and stdout as that program does. */
async function callByCommand(folder: string, service: Service): Promise<void> {
  const configuration = examples('json', service).find((text) => text.includes('mcp-remote')) ?? '';
  const { mcpServers } = JSON.parse(configuration) as Configuration;
  const { command, args, env } = mcpServers.souk;
  const inherited = process.env as Record<string, string>;
  const transport = new StdioClientTransport({
    command,
    args,
    stderr: 'pipe',
    cwd: folder,
    env: { ...inherited, MCP_REMOTE_CONFIG_DIR: folder, ...env },
  });
  let printed = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  const client = new Client({ name: 'contracts', version: '1.0.0' });
  try {
    await client.connect(transport);
    const { content, isError } = await client.callTool({ name: 'market_get_quota', arguments: {} });
    if (isError) throw new Error(JSON.stringify(content));
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${printed}`, { cause: error });
  } finally {
    await client.close();
  }
}

interface Configuration {
  mcpServers: { souk: { command: string; args: string[]; env: Record<string, string> } };
}

/** Runs the example with a scripted model, which calls a tool and then repeats the result. */
async function runExample(folder: string, service: Service): Promise<void> {
  const [example = ''] = examples('ts', service);
  const packages = ['ai@7.0.173', '@ai-sdk/mcp@2.0.99'];
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  await tool('npm', ['install', '--no-audit', '--no-fund', ...packages], folder);
  const declared = 'declare const process: { env: Record<string, string | undefined> };\n';
  await typeCheck(folder, `${declared}${example}`);
  const { code } = await transform(example, { loader: 'ts', format: 'esm' });
  writeFileSync(join(folder, 'program.mjs'), code);
  writeFileSync(join(folder, 'model.mjs'), MODEL);
  const env = { SOUK_URL: service.url, SOUK_API_KEY: service.key };
  const printed = await tool(process.execPath, ['--import', './model.mjs', 'program.mjs'], folder, env);
  if (!/"asin\W+B08N5WRWNX/.test(printed)) throw new Error(`printed ${printed}`);
}

const MODEL = `import { MockLanguageModelV4 } from 'ai/test';
const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
const usage = { inputTokens: tokens, outputTokens: tokens };
const input = JSON.stringify({ country: 'us', asins: ['B08N5WRWNX'], fields: 'asin,title,stats.current' });
const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const { role, content } = prompt.at(-1);
    const answer = role === 'tool'
      ? { type: 'text', text: JSON.stringify(content) }
      : { type: 'tool-call', toolCallId: '1', toolName: 'market_get_product', input };
    const reason = role === 'tool' ? 'stop' : 'tool-calls';
    return { content: [answer], finishReason: { unified: reason, raw: reason }, usage, warnings: [] };
  },
});
globalThis.AI_SDK_DEFAULT_PROVIDER = { specificationVersion: 'v4', languageModel: () => model };
`;

/** Returns the examples of the guide in a language, for a service. */
function examples(language: string, { url, key }: Service): string[] {
  const guide = readFileSync('docs/guides/tools-for-agents.md', 'utf8');
  const blocks = [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))];
  return blocks.map(([, text = '']) =>
    text.replaceAll('http://127.0.0.1:3000', url).replaceAll('km_...', key),
  );
}
