import { register } from 'node:module';

// The suite imports `globSync` of node:fs, which Node has from version 22 on, for a command that is not used here.
const hooks = `
  export async function resolve(specifier, context, next) {
    const isSuite = context.parentURL?.includes('/@modelcontextprotocol/conformance/');
    if (!isSuite || specifier !== 'fs') return next(specifier, context);
    const source = "export * from 'node:fs'; export const globSync = () => [];";
    return { url: 'data:text/javascript,' + encodeURIComponent(source), shortCircuit: true };
  }`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
