using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Headrace
{
    /// <summary>Produces the files of a scan on a background thread.</summary>
    internal interface IFileSource
    {
        /// <summary>Passes files to <paramref name="take"/> until the end, or until it returns false.</summary>
        void Run(Func<DeltaFile, bool> take);

        /// <summary>Asks Run to return soon. Any thread may call it, at any time.</summary>
        void Cancel();
    }

    /// <summary>Streams the files of one scan with bounded read-ahead; disposing the enumerator stops the scan.</summary>
    internal sealed class FileStream : IAsyncEnumerable<DeltaFile>
    {
        private readonly Func<IFileSource> open;
        private readonly CancellationToken disposed;
        private readonly CancellationToken token;

        internal FileStream(Func<IFileSource> open, CancellationToken disposed, CancellationToken token)
        {
            this.open = open;
            this.disposed = disposed;
            this.token = token;
        }

        public IAsyncEnumerator<DeltaFile> GetAsyncEnumerator(
            CancellationToken cancellationToken = default(CancellationToken))
        {
            // Disposing the enumerator also disposes this source, which the scanner's token refers to.
            return new Enumerator(
                open(), CancellationTokenSource.CreateLinkedTokenSource(disposed, token, cancellationToken));
        }

        private sealed class Enumerator : IAsyncEnumerator<DeltaFile>
        {
            private const int Ahead = 1024;

            private readonly IFileSource source;
            private readonly CancellationTokenSource cancelled;
            private readonly ConcurrentQueue<DeltaFile> ready = new ConcurrentQueue<DeltaFile>();
            private readonly SemaphoreSlim count = new SemaphoreSlim(0);
            private readonly SemaphoreSlim room = new SemaphoreSlim(Ahead);
            private readonly TaskCompletionSource<bool> ended =
                new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);

            private CancellationTokenRegistration registration;
            private volatile Exception error;
            private volatile bool stopped;
            private bool started;

            internal Enumerator(IFileSource source, CancellationTokenSource cancelled)
            {
                this.source = source;
                this.cancelled = cancelled;
            }

            public DeltaFile Current { get; private set; }

            public async ValueTask<bool> MoveNextAsync()
            {
                cancelled.Token.ThrowIfCancellationRequested();
                if (!started)
                {
                    started = true;
                    registration = cancelled.Token.Register(Stop);
                    new Thread(Fill) { IsBackground = true, Name = "headrace-scan" }.Start();
                }

                await count.WaitAsync(cancelled.Token).ConfigureAwait(false);
                DeltaFile file;
                if (ready.TryDequeue(out file))
                {
                    room.Release();
                    Current = file;
                    return true;
                }

                cancelled.Token.ThrowIfCancellationRequested();
                count.Release(); // so that later calls also see the end
                if (error != null)
                {
                    throw error;
                }

                return false;
            }

            public ValueTask DisposeAsync()
            {
                return new ValueTask(EndAsync());
            }

            private async Task EndAsync()
            {
                Stop();
                if (started)
                {
                    await ended.Task.ConfigureAwait(false);
                }

                registration.Dispose();
                cancelled.Dispose();
            }

            private void Stop()
            {
                if (!stopped)
                {
                    stopped = true;
                    room.Release();
                    source.Cancel();
                }
            }

            private void Fill()
            {
                try
                {
                    source.Run(Take);
                }
                catch (Exception raised)
                {
                    error = stopped ? null : raised;
                }

                count.Release();
                ended.TrySetResult(true);
            }

            private bool Take(DeltaFile file)
            {
                room.Wait();
                if (stopped)
                {
                    return false;
                }

                ready.Enqueue(file);
                count.Release();
                return true;
            }
        }
    }
}
