/** What has to be put back before each test file, because the files of a process share their modules. */
export const atFileStart: (() => void)[] = [];
