// Loaded into the processes that the demo starts (node --import): they end with it, however it ends.
process.on('disconnect', () => process.exit(1));
