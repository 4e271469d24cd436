import { runCommand } from './cli/program.ts';

/** `npm run souk -- <command>`. Exits with 0 after success, 1 with a message after a failure, and 2 for an invalid command line. */
const { argv, env, stdout, stderr } = process;
process.exitCode = await runCommand(argv.slice(2), {
  env,
  write: (text) => void stdout.write(text),
  writeError: (text) => void stderr.write(text),
});
