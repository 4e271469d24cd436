import type { FastifyInstance } from 'fastify';

/** An address that a service has, with parameters as `:id`. */
export interface ServedPath {
  path: string;
  /** Includes those that only refuse a method with 405. */
  methods: readonly string[];
}

/** The addresses of a service, from the printed tree of its routes, in which a path may be the beginning of others. */
export function servedPaths(app: FastifyInstance | undefined): ServedPath[] {
  const branch: string[] = [];
  const found: ServedPath[] = [];
  for (const line of (app?.printRoutes() ?? '').split('\n')) {
    const [, indent = '', part, methods] =
      /^((?:[│ ] {3})*)[├└]── (\S+)(?: \(([A-Z, ]+)\))?/.exec(line) ?? [];
    if (part === undefined) continue;
    branch.splice(indent.length / 4, Number.POSITIVE_INFINITY, part);
    // The tree also has the expressions of parameters.
    const path = branch.join('').replace(/\(\^.*?\$\)/g, '');
    if (methods) found.push({ path, methods: methods.split(', ') });
  }
  return found;
}
