import { atFileStart } from './file-start.ts';

// Vitest runs this before each test file, also in a process that has run others.
for (const putBack of atFileStart) putBack();
