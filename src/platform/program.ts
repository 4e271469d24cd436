import { fileURLToPath } from 'node:url';

/** Whether this code runs as JavaScript from dist/, which `npm run build` creates, and not as TypeScript. */
export const isCompiled = import.meta.url.endsWith('.js');

/** Returns the arguments for Node to run a program of the project in a separate process. @param file its TypeScript file. */
export function programArguments(file: URL): string[] {
  const path = fileURLToPath(file);
  return isCompiled
    ? ['--enable-source-maps', path.replace(/\.ts$/, '.js')]
    : ['--import', import.meta.resolve('tsx'), path];
}
