import { runCommand } from './cli/run-command.ts';

/** `npm run souk -- <command>`. Ends with 0, with 1 and a sentence when something is wrong, with 2 when the command line is wrong. */
const { argv, env, stdout, stderr } = process;
process.exitCode = await runCommand(argv.slice(2), {
  env,
  write: (text) => void stdout.write(text),
  writeError: (text) => void stderr.write(text),
});
