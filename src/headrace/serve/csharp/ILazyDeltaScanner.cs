using System;
using System.Collections.Generic;
using System.Threading;

namespace Headrace
{
    /// <summary>Streams the live files of Delta tables, newest first, in bounded memory.</summary>
    public interface ILazyDeltaScanner : IDisposable, IAsyncDisposable
    {
        /// <summary>Stream the files of a table as they are found.</summary>
        /// <param name="tablePath">The name of a table on a server, or its address in process.</param>
        /// <param name="options">What to leave out, and when to stop; null means all files.</param>
        /// <param name="cancellationToken">Stops the scan.</param>
        /// <remarks>Leaving the loop early stops the scan, also on a server.</remarks>
        IAsyncEnumerable<DeltaFile> ScanFilesAsync(
            string tablePath,
            ScanOptions options = null,
            CancellationToken cancellationToken = default(CancellationToken));
    }
}
