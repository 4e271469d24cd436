import { register } from 'node:module';

// For programs that need the programming interface of TypeScript, which ended with version 6: they import `typescript` and
// get the copy that @ts-morph/common brings along.
const hooks = `
  export async function resolve(specifier, context, next) {
    if (specifier !== 'typescript') return next(specifier, context);
    const { url } = await next('@ts-morph/common', context);
    const source = 'import { ts } from ' + JSON.stringify(url) + '; export default ts;';
    return { url: 'data:text/javascript,' + encodeURIComponent(source), shortCircuit: true };
  }`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
