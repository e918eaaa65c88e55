/**
 * Passes failure messages and stack traces through the payload codec; otherwise Temporal would store them in clear text.
 * CommonJS, because the SDK loads this file with `require`, both in the process and in the workflow bundle.
 */
const { DefaultFailureConverter } = require('@temporalio/common');

exports.failureConverter = new DefaultFailureConverter({
  encodeCommonAttributes: true,
});
