import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Whether this code runs as JavaScript from dist/, which `npm run build` creates, and not as TypeScript. */
export const isCompiled = import.meta.url.endsWith('.js');

/** The folder of the checkout or, for compiled code, of the build: the nearest one with a package.json. */
const ROOT = nearestPackage(new URL('.', import.meta.url));

function nearestPackage(folder: URL): URL {
  return existsSync(new URL('package.json', folder)) ? folder : nearestPackage(new URL('..', folder));
}

/** Returns the address of a file of the project. @param path from the top folder, such as `docs/glossary.md`. */
export function projectFile(path: string): URL {
  return new URL(path, ROOT);
}

/** Returns the version of Souk, from package.json. */
export function packageVersion(): string {
  const text = readFileSync(projectFile('package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/**
 * Options of Node for the programs. With the default size of 16 MB for new objects, those of requests under way are copied to the
 * old ones under load, which takes a tenth of the processor time. Dockerfile and package.json have the same.
 */
export const NODE_OPTIONS = ['--enable-source-maps', '--max-semi-space-size=64'] as const;

/**
 * Returns the arguments for Node to run a program of the project in a separate process.
 * @param file its TypeScript file.
 * @param options further ones of Node, which replace NODE_OPTIONS.
 */
export function programArguments(file: string, options: readonly string[] = []): string[] {
  return isCompiled
    ? [...NODE_OPTIONS, ...options, fileURLToPath(projectFile(file.replace(/\.ts$/, '.js')))]
    : ['--import', import.meta.resolve('tsx'), ...options, fileURLToPath(projectFile(file))];
}
