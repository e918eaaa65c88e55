/**
 * Failure messages and stack traces go through the payload codec like every other payload; otherwise they would
 * stand in Temporal in clear text. CommonJS, because the SDK loads this file by `require`, both in the process
 * and in the workflow bundle.
 */
const { DefaultFailureConverter } = require('@temporalio/common');

exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
