import { Command, InvalidArgumentError, Option } from 'commander';
import type { Answer } from '../answer.ts';
import { ADDRESSES, OPERATION_NAMES, type TableFormat } from '../generated/operations.ts';
import type { Souk } from '../souk.ts';
import { VERSION } from '../version.ts';
import { type BatchFile, runBatch } from './batch.ts';
import { completion, SHELLS, type Shell } from './completion.ts';
import { clientOf } from './login.ts';
import { addLogin } from './login-commands.ts';
import { CALL_FORMATS, FORMATS, type Format, formatted, printed } from './output.ts';
import { addTrackers } from './trackers.ts';
import { wholeNumber } from './whole-number.ts';

/** Where the command reads and writes. */
export interface Terminal {
  env: NodeJS.ProcessEnv;
  write(text: string | Uint8Array): void;
  /** Aborted when the user stops the command. */
  signal: AbortSignal;
  /** Replaced by tests. */
  sleep?(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Groups whose methods are operations, by the names that `call` accepts. */
const OPERATIONS = Object.keys(ADDRESSES).filter((name) =>
  /^(market|trends|aba|retail|research)\./.test(name),
);

const JOB_STATES = ['queued', 'running', 'done', 'failed', 'cancelled'];

/** Creates the command. @throws on errors, so that the caller decides on the exit code. */
export function createProgram(terminal: Terminal): Command {
  const { env, write } = terminal;
  const program = new Command('souk-client').version(VERSION).description('Calls a Souk service.');
  const output = () =>
    new Option('-o, --output <format>', 'form of the output').choices(FORMATS).default('table');

  addLogin(program, terminal);

  program
    .command('quota')
    .description('Shows the quota of the account.')
    .addOption(output())
    .action(async ({ output: format }: { output: Format }) =>
      write(formatted(await clientOf(env).account.quota({}, terminal), format)),
    );

  program
    .command('call')
    .description('Makes a call: souk-client call market.product --country us --asins B08N5WRWNX')
    .addArgument(
      program
        .createArgument('<operation>', 'name of an operation')
        .choices(OPERATIONS)
        .argParser(oneOf(OPERATIONS)),
    )
    .option('--max-units <units>', 'refuses a call that costs more', wholeNumber)
    .option('--dry-run', 'shows the price only')
    .option('--table <name>', 'rows of a file, such as products, history, daily or offers')
    .addOption(output().choices(CALL_FORMATS))
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (name: string, options: CallFlags, command: Command) => {
      const { output: format, ...flags } = options;
      const method = methodOf(clientOf(env), name);
      const form = format === 'table' || format === 'json' ? {} : { format };
      const callOptions = { ...flags, ...form, signal: terminal.signal };
      const data = await method(paramsOf(command.args.slice(1)), callOptions);
      write(await printed(data, format));
    });

  program
    .command('batch')
    .description('Runs an operation for each row of a CSV file. Further options are parameters of all rows.')
    .argument('<file>', 'CSV file whose header names parameters')
    .addOption(
      new Option('--operation <name>', 'name of an operation')
        .choices(OPERATION_NAMES)
        .argParser(oneOf(OPERATION_NAMES))
        .makeOptionMandatory(),
    )
    .requiredOption(
      '--out <file>',
      'file for the results: .csv, .xlsx, .parquet, or one line of JSON for each row',
    )
    .option('--table <name>', 'rows of a .csv, .xlsx or .parquet file')
    .option('--max-units <units>', 'refuses a batch that can cost more', wholeNumber)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(
      async (
        input: string,
        options: Pick<BatchFile, 'operation' | 'out' | 'table' | 'maxUnits'>,
        command: Command,
      ) => {
        const params = paramsOf(command.args.slice(1));
        const failed = await runBatch(clientOf(env), { input, ...options, params }, terminal.signal);
        write(`Wrote ${options.out}${failed > 0 ? `; ${failed} items failed` : ''}\n`);
      },
    );

  program
    .command('jobs')
    .description('Lists the jobs of the last 7 days, newest first.')
    .addOption(new Option('--state <state>', 'only jobs in this state').choices(JOB_STATES))
    .option('--limit <jobs>', 'number of jobs', wholeNumber, 20)
    .addOption(output())
    .action(async ({ output: format, ...query }: { output: Format; state?: never; limit: number }) =>
      write(formatted((await clientOf(env).jobs.list(query, terminal)).jobs.map(jobRow), format)),
    );

  addTrackers(program, terminal, output());

  program
    .command('completion')
    .description('Prints completions for a shell.')
    .addArgument(program.createArgument('<shell>').choices(SHELLS))
    .action((shell: Shell) => write(completion(shell, program)));

  return program;
}

interface CallFlags {
  output: Format | TableFormat;
  maxUnits?: number;
  dryRun?: boolean;
  table?: string;
}

type AnyMethod = (params: object, options: object) => Answer<unknown>;

function methodOf(souk: Souk, name: string): AnyMethod {
  const [group = '', method = ''] = name.split('.');
  return (souk as unknown as Record<string, Record<string, AnyMethod>>)[group]?.[method] as AnyMethod;
}

/** Returns a parser of names that accepts those of the client and those of the service: productFinder, productfinder. */
function oneOf<Name extends string>(names: readonly Name[]): (text: string) => Name {
  return (text) => {
    const found = names.find((one) => plain(one) === plain(text));
    if (!found) throw new InvalidArgumentError(`must be one of ${names.join(', ')}, got "${text}"`);
    return found;
  };
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll('-', '');
}

/** Reads `--asins A,B --country us`. The service reads numbers and lists from texts. */
function paramsOf(words: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  const left = [...words];
  for (;;) {
    const word = left.shift();
    if (word === undefined) return params;
    const [, name, value] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (!name) throw new Error(`parameters: must be --name value, got "${word}"`);
    params[name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())] =
      value ?? left.shift() ?? 'true';
  }
}

function jobRow({ jobId, operation, state, progress, unitsCharged, createdAt }: JobFields): JobFields {
  return { jobId, operation, state, progress, unitsCharged, createdAt };
}

interface JobFields {
  jobId: string;
  operation: string;
  state: string;
  progress: number;
  unitsCharged: number;
  createdAt: string;
}
