/** The state to reset before each test file, because the files of a process share modules. */
export const atFileStart: (() => void)[] = [];
