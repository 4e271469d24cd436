import { fileURLToPath } from 'node:url';

/** Whether this is JavaScript of dist/, made by `npm run build`, and not a checkout's TypeScript. */
export const isCompiled = import.meta.url.endsWith('.js');

/** Arguments of Node that run a program of the project in a process of its own. @param file its TypeScript file. */
export function programArguments(file: URL): string[] {
  const path = fileURLToPath(file);
  return isCompiled
    ? ['--enable-source-maps', path.replace(/\.ts$/, '.js')]
    : ['--import', import.meta.resolve('tsx'), path];
}
