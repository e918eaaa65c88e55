import { TestWorkflowEnvironment } from '@temporalio/testing';

/**
 * Lets the SDK download an executable: `node download.mjs createLocal
 * <folder>`.
 */
const [, , create, downloadDir] = process.argv;
const executable = { type: 'cached-download', downloadDir };
try {
  const environment = await TestWorkflowEnvironment[create]({
    server: { executable },
  });
  await environment.teardown();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
