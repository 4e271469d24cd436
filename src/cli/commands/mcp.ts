import type { Command } from 'commander';
import { z } from 'zod';
import { isWellFormed } from '../../accounts/authentication.ts';
import { parseSettings } from '../../platform/settings.ts';
import { runMcpBridge } from '../mcp-bridge.ts';
import { programOf } from '../terminal.ts';

const settings = z.object({
  SOUK_URL: z.url({ protocol: /^https?$/, error: 'must be a URL such as http://127.0.0.1:3000' }),
  SOUK_API_KEY: z
    .string('must be an API key')
    .refine(isWellFormed, 'must be an API key: km_ or km_test_, and 32 letters or digits'),
});

export function registerMcp(parent: Command): void {
  const command = parent.command('mcp');
  command
    .description(
      'serves the tools of the gateway at SOUK_URL over stdin and stdout, with the key SOUK_API_KEY',
    )
    .option('--toolsets <list>', 'toolsets to offer, such as market,aba')
    .action(async ({ toolsets }: { toolsets?: string }) => {
      const program = programOf(command);
      const { SOUK_URL, SOUK_API_KEY } = parseSettings(settings, program.terminal.env);
      const endpoint = new URL('/mcp', SOUK_URL);
      if (toolsets !== undefined) endpoint.searchParams.set('toolsets', toolsets);
      program.failed = !(await runMcpBridge(endpoint, SOUK_API_KEY));
    });
}
