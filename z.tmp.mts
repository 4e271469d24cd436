import { QUEUED, LOCAL } from './src/operations/index.ts';
import { parametersOf, isStrict } from './src/openapi/parameters.ts';
for (const o of [...QUEUED, ...LOCAL]) { console.log(o.name, isStrict(o.params)); for (const p of parametersOf(o.params)) console.log('  ', JSON.stringify(p)); }
