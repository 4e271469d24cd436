import { openApiDocument } from './src/openapi/document.ts';
import { writeFileSync } from 'node:fs';
const t=performance.now();
const d = openApiDocument();
const s=JSON.stringify(d);
console.log(performance.now()-t, s.length);
writeFileSync('/tmp/openapi.json', JSON.stringify(d,null,1));
