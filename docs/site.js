// The search treats "-" before a word as "without this word", so "--dry-run" would find nothing. Message 2 is a query.
const send = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...others) {
  if (message?.type === 2) message = {...message, data: message.data.replace(/(^|\s)-+(?=\S)/g, "$1")};
  return send.call(this, message, ...others);
};
